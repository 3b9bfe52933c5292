from clfrnn.models import Boids

flock = Boids(500, repeatable=True)
start = flock.order()
flock.animate("boids.gif", steps=300, every=10, fps=10, size=240)
print(f"the order of {flock.n} boids: {start:.2f} at the start, {flock.order():.2f} after {flock.steps_done} steps")
