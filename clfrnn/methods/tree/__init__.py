"""The method ``aabb_tree``: a balanced tree of bounding boxes."""
