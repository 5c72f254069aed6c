//! Networks and flows of other simulators as scenarios.
