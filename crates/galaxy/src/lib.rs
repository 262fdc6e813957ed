//! galaxy
