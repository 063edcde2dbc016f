"""Forewarn on Windows: real CPython for Windows, run by wine. docs/windows.md says what that shows and what not."""
