"""Deployments: templates, their expressions and functions, and carrying out what they say."""
