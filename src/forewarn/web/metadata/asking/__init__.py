"""From a request to a question: who asks, for what, and what is refused before anything is looked up."""
