//! The engine as a whole, on networks small enough to reason about.

mod activation;
mod breakdown;
mod closed_forms;
mod conservation;
mod documents;
mod links;
mod loss;
mod measures;
mod networks;
mod pages;
