"""The webhooks: the pod gate and the parallelism guard, over TLS. They ask `core`, and live on when watching dies."""
