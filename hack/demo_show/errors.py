"""What can keep the demo from being shown, told in a sentence."""


class DemoError(Exception):
    """Its text is shown to the user as it is; there is no traceback."""
