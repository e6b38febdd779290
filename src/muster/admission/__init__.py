"""The webhook handlers, and the server that asks them. They ask `core`, and live on when watching dies."""
