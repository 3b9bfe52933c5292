from clfrnn.models import Fluid

water = Fluid(3_000, dim=3, tank=(3, 1, 2), sound=25.0, repeatable=True)
water.animate("fluid_3d.png", steps=550, every=550, size=640)
print(f"{water.steps_done:,} steps of {water.n:,} particles: {water.time:.2f} s of water")
