"""OMA Desktop: see, steer and rescue long multi-agent runs."""

__version__ = "0.1.0"
