// This stands in every program. Squared distances must equal those of numpy bit for bit. A multiplication and an
// addition must therefore round twice, so contraction to fma is off.
#pragma OPENCL FP_CONTRACT OFF
