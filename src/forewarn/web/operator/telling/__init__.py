"""What an answer says of a VM, an event, a scale set, a campaign, and of what a request has come to."""
