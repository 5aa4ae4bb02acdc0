"""The real-world tests. Each looks at one recorded session, made before any of them runs (lib/session.py)."""
