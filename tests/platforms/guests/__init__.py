"""What runs inside machines of the tests: Debian's Python and the product's own agent, in virtual machines and in
containers alike."""
