//! Jobs over HTTP, on every store: each row of the API, bad input, who may see what.

mod act;
mod cluster;
mod cron;
mod dlq;
mod flows;
mod live;
mod produce;
mod read;
mod support;
