//! The rules by value.
