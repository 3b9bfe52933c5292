"""The methods ``uniform_grid`` and ``strips``: points in cells."""
