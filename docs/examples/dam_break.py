from clfrnn.models import Fluid

water = Fluid(800, tank=(4, 2.5), sound=20.0, repeatable=True)
water.animate("fluid.gif", steps=2_080, every=65, fps=8, size=320)
print(f"after {water.time:.1f} s and {water.steps_done:,} steps the water is {water.positions.get()[:, 1].max():.1f} high")
