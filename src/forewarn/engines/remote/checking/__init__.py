"""Whether somebody's engine keeps the rules of the protocol: what ``forewarn engine check`` asks it."""
