"""Hand-made pictures of stores for view models."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"
