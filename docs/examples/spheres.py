from clfrnn.models import Spheres

model = Spheres(2_000, collider=((0.65, 0.1, -0.7), 0.3), repeatable=True)
before = model.energy()
model.animate("spheres.gif", steps=1_200, every=50, fps=10, size=320)

print(f"{model.n:,} spheres, {model.steps_done:,} steps: {model.energy() / before:.0%} of the energy is left")
