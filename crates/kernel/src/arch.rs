//! Chooses the lanes of this build at compile time. The only files with `unsafe` code lie below.

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm32;

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub(crate) use scalar::Scalar as Selected;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) use wasm32::Wasm32 as Selected;
