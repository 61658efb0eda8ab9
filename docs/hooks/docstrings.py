"""Reads the sections that docstrings of Keras have beside Google's."""

import griffe


# A name that griffe knows, and the title to show.
SECTIONS = {
    "Args:\n": "Args: Arguments:\n",
    "Call arguments:\n": "Other Args: Call arguments:\n",
    "Example:\n": "Examples: Example:\n",
    "Output shape:\n": "Returns: Output shape:\n",
}


class KerasSections(griffe.Extension):
    """Gives them names that griffe knows."""

    def on_object(self, *, obj, **_):
        """Is called with everything that may have a docstring."""
        if obj.docstring:
            for ours, known in SECTIONS.items():
                obj.docstring.value = obj.docstring.value.replace(ours, known)
