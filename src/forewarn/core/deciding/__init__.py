"""Commands: the only places where a rule may say no, and how events come to be."""
