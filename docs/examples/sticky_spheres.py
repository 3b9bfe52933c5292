import numpy as np

from clfrnn.models import Spheres

model = Spheres(900, dim=2, gravity=0.0, attraction=3_000, collider=((0.8, -0.3), 0.15), repeatable=True)


def push(model):
    """Take the ball around the middle of the box, once in 2,000 steps."""
    angle = 2 * np.pi * model.steps_done / 2_000
    model.move_collider((0.75 * np.cos(angle), 0.75 * np.sin(angle)))


model.place(0.8 * (model.positions.get() + 0.345))  # in the middle of the box, pressed into each other
touching = model.index.count().get().mean()
model.animate("sticky_spheres.gif", steps=2_000, every=80, fps=10, size=320, change=push)
print(f"{touching:.1f} spheres touch a sphere at the start, {model.index.count().get().mean():.1f} at the end")
