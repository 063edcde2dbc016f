"""What a server tells a collector by OTLP: its figures, and a span for each answer. Loaded where it is wanted only."""
