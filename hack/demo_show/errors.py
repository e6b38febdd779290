"""Why the demo cannot run, as one sentence."""


class DemoError(Exception):
    """The text is shown to the user as it is, without a traceback."""
