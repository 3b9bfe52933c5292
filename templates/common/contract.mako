// Part of every program. Squared distances are compared bit for bit with numpy's, so a multiplication and an addition
// must round twice, never once: contraction to fma is off.
#pragma OPENCL FP_CONTRACT OFF
