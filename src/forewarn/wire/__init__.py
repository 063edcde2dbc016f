"""The contract as bytes: documents, approvals, instants, refusals, and what each api-version shows."""
