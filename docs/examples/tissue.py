from clfrnn.models import Keratinocytes

skin = Keratinocytes(60, seed=3, repeatable=True)
skin.animate("keratinocytes.gif", steps=720, every=30, fps=6, size=272)
print(f"60 cells grow into {skin.n}, after {skin.steps_done} steps: {skin.counts()}")
