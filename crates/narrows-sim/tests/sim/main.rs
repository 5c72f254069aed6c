//! Networks against theory, against each other, and against what they promise. One program: to link it takes longer than to run most of it.

mod connections;
mod dcqcn;
mod dependents;
mod dequeue;
mod determinism;
mod fluid;
mod grouped;
mod hosts;
mod l4s;
mod lossless;
mod nic;
mod offload;
mod paths;
mod pause;
mod queue_management;
mod queue_pairs;
mod queues;
mod rack;
mod rdma;
mod responses;
mod session;
mod signals;
mod successors;
mod support;
mod telemetry;
mod threads;
