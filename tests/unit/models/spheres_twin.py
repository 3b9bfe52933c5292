"""The twin of Spheres in numpy: a step and the energy of all pairs; see test_spheres.py."""

import numpy as np


def numpy_step(model, x, v):
    """Positions and velocities after a step, in float64."""
    towards, relative = x[None] - x[:, None], v[None] - v[:, None]
    distance = np.linalg.norm(towards, axis=2)
    touch = (distance <= 2 * model.radius) & (distance > 0)
    d = np.where(touch, distance, 1.0)[..., None]

    def contact(towards, d, relative, reach, attraction):
        normal = towards / d
        along = (relative * normal).sum(axis=-1, keepdims=True) * normal
        spring = (attraction * d - model.stiffness * (reach - d)) * normal
        return spring + model.damping * relative + model.shear * (relative - along)

    pairs = contact(towards, d, relative, 2 * model.radius, model.attraction)
    force = (pairs * touch[..., None]).sum(axis=1)
    if model.collider is not None:
        center, reach = np.array(model.collider[0]), model.radius + model.collider[1]
        away = np.linalg.norm(center - x, axis=1, keepdims=True)
        force += np.where(away <= reach, contact(center - x, away, -v, reach, 0.0), 0.0)
    force[:, -1] -= model.gravity
    v = model.global_damping * (v + model.dt * force)
    x = x + model.dt * v
    limit = 1 - model.radius if model.walls else np.inf
    return np.clip(x, -limit, limit), np.where(np.abs(x) > limit, -model.restitution * v, v)


def numpy_energy(model, x, v):
    """The energy, in float64."""
    distance = np.linalg.norm(x[None] - x[:, None], axis=2)[np.triu_indices(len(x), 1)]
    distance = distance[distance <= 2 * model.radius]
    pairs = model.stiffness * (2 * model.radius - distance) ** 2
    pairs += model.attraction * (distance**2 - 4 * model.radius**2)
    found = ((v**2).sum() + pairs.sum()) / 2 + model.gravity * (x[:, -1] + 1 - model.radius).sum()
    if model.collider is not None:
        away = np.linalg.norm(x - np.array(model.collider[0]), axis=1)
        found += model.stiffness * (np.maximum(model.radius + model.collider[1] - away, 0) ** 2).sum() / 2
    return found
