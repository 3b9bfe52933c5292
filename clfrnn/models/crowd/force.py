"""A step of each pedestrian: the social force over its neighbors, then walls, velocity, position and arrival."""

from __future__ import annotations

import clfrnn

__all__ = ["WALK"]

#: Segments are rows of four numbers, from `a` to `b`.
_PREAMBLE = """
real_vec crowd_on_segment(const real_vec position, const real_vec a, const real_vec b, real *along)
{
    const real_vec span = b - a;
    const real length2 = dot(span, span);
    *along = length2 > 0 ? clamp(dot(position - a, span) / length2, (real)0, (real)1) : (real)0;
    return a + *along * span;
}

/* Twice the area of the triangle; points on the line through a and b are on its right. */
int crowd_left_of(const real_vec a, const real_vec b, const real_vec position)
{
    return (b.x - a.x) * (position.y - a.y) - (b.y - a.y) * (position.x - a.x) > 0;
}

int crowd_crosses(const real_vec from, const real_vec to, const real_vec a, const real_vec b)
{
    return crowd_left_of(a, b, from) != crowd_left_of(a, b, to)
        && crowd_left_of(from, to, a) != crowd_left_of(from, to, b);
}

real_vec crowd_towards(const real_vec position, const real_vec target)
{
    const real_vec way = target - position;
    const real length2 = dot(way, way);
    return length2 > 0 ? way / sqrt(length2) : (real_vec)(0);
}
"""

_STATE = """
const real_vec own = vload2(i, positions);
const int group = groups[i];
const real_vec goal_a = vload2(2 * group, goals), goal_b = vload2(2 * group + 1, goals);
real along;
const real_vec ahead = crowd_towards(own, crowd_on_segment(own, goal_a, goal_b, &along));
real_vec push = (real_vec)(0);
"""

# The ellipse has its foci at the neighbor and a stride in front of it, at the ends of `dx` and `beyond`. With the unit
# vectors to them, `both` is their sum, and half of its length is the cosine of half the angle between them. By it the
# semi-minor axis b is sqrt(|dx| |beyond|) |both| / 2, and the gradient of b is along `both`: neither cancels, as the
# paper's difference of squares does. Between the foci, where the angle is straight, no side is the nearer one: a
# neighbor exactly ahead does not push.
_PER_NEIGHBOR = """
const real_vec beyond = dx + vload2(j, strides);
const real near = sqrt(d2), far = sqrt(dot(beyond, beyond)), product = near * far;
if (product > 0) {
    const real_vec both = dx / near + beyond / far;
    const real length = sqrt(dot(both, both)), root = sqrt(product);
    if (length > 0) {
        const real strength = repulsion / repulsion_length * exp(-root * length / (2 * repulsion_length))
            * (near + far) / (2 * root);
        const real seen = dot(ahead, both) >= view * length ? (real)1 : behind;
        push -= seen * strength / length * both;
    }
}
"""

_FINISH = """
for (int w = 0; w < wall_count; ++w) {
    const real_vec away = own - crowd_on_segment(own, vload2(2 * w, walls), vload2(2 * w + 1, walls), &along);
    const real distance = sqrt(dot(away, away));
    if (distance > 0)
        push += wall_repulsion / wall_length * exp(-distance / wall_length) / distance * away;
}
const real speed = speeds[i];
const real_vec wanted = speed * ahead;
real_vec velocity = wanted + decay * (vload2(i, velocities) - wanted) + gain * push;
const real fast = sqrt(dot(velocity, velocity)), limit = speed_limit * speed;
if (fast > limit)
    velocity *= limit / fast;
real_vec position = own + dt * velocity;
for (int w = 0; w < wall_count; ++w)
    if (crowd_crosses(own, position, vload2(2 * w, walls), vload2(2 * w + 1, walls))) {
        position = own;
        velocity = (real_vec)(0);
    }
real_vec target = crowd_on_segment(position, goal_a, goal_b, &along);
const int arrived = dot(target - position, target - position) <= reach * reach;
if (arrived) {
    const real_vec entry_a = vload2(2 * group, entries), entry_b = vload2(2 * group + 1, entries);
    position = come_in ? entry_a + along * (entry_b - entry_a) : vload2(i, starts);
    target = crowd_on_segment(position, goal_a, goal_b, &along);
}
vstore2(position, i, moved);
vstore2(velocity, i, turned);
vstore2(stride_time * sqrt(dot(velocity, velocity)) * crowd_towards(position, target), i, strode);
counted[i] = arrivals[i] + arrived;
"""

WALK = clfrnn.NeighborFunction(
    arguments="""
        const real dt, const real decay, const real gain, const real speed_limit, const real stride_time,
        const real repulsion, const real repulsion_length, const real view, const real behind,
        const real wall_repulsion, const real wall_length, const int wall_count, const real reach, const int come_in,
        global const real *walls, global const real *goals, global const real *entries, global const real *starts,
        global const int *groups, global const real *speeds,
        global const real *positions, global const real *velocities, global const real *strides,
        global const int *arrivals,
        global real *moved, global real *turned, global real *strode, global int *counted""",
    preamble=_PREAMBLE,
    state=_STATE,
    per_neighbor=_PER_NEIGHBOR,
    finish=_FINISH,
)
