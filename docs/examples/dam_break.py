from clfrnn.models import Fluid

water = Fluid(600, tank=(4, 2.5), sound=20.0, repeatable=True)
water.animate("fluid.gif", steps=1_800, every=60, fps=8, size=320)
print(f"{water.steps_done:,} steps of {water.n} particles: {water.time:.2f} s of water")
