// Makes the pages live. Everything works without it.
