from clfrnn.models import Pedestrians

walkway = Pedestrians(150, stride_time=0.5, repeatable=True)
walkway.step(2_000)
walkway.animate("walkway.gif", steps=240, every=8, fps=8)
print(f"after {walkway.time:.0f} s, {walkway.n} people walk at {walkway.progress():.1f} m/s towards their goals")
