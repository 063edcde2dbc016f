"""From a question to an answer: documents as cached bytes, what may be seen already, and readers that wait."""
