"""The operator face: a typed JSON API over a region, with its own OpenAPI document."""
