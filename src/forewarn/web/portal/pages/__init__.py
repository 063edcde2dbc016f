"""The pages, one module a subject: look, view, template."""
