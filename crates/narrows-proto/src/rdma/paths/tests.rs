//! The schemes by value, and rules that hold for all.
