"""The listening side of a node: sockets, frames, limits. What a request means is its `Service`'s business."""
