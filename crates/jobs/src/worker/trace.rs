//! Traces: each attempt runs in a span, and with the feature `otel` the span continues the trace of whoever
//! dispatched the job, by its `x.traceparent`.

use tracing::Span;

use crate::model::{Job, WorkerFacts};

/// The span of one attempt.
pub(crate) fn span(facts: &WorkerFacts, job: &Job) -> Span {
    let span = tracing::info_span!(
        target: "jobs::attempt",
        "job",
        otel.name = %job.kind,
        otel.kind = "consumer",
        messaging.system = "bridgemq",
        messaging.destination.name = %job.kind,
        messaging.message.id = %job.id,
        worker = %facts.server_id,
        attempt = job.attempts,
    );
    #[cfg(feature = "otel")]
    if let Some(parent) = job.x.traceparent.as_deref() {
        otel::continue_trace(&span, parent);
    }
    span
}

/// The `traceparent` of the current span, for a job that is dispatched in it.
#[cfg(feature = "otel")]
pub fn current() -> Option<String> {
    otel::traceparent(&Span::current())
}

#[cfg(feature = "otel")]
mod otel {
    use std::collections::HashMap;

    use opentelemetry::propagation::TextMapPropagator as _;
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    const NAME: &str = "traceparent";

    /// The job's span belongs to the trace that its producer wrote down.
    pub(super) fn continue_trace(span: &Span, traceparent: &str) {
        let carrier = HashMap::from([(NAME.to_owned(), traceparent.to_owned())]);
        let parent = TraceContextPropagator::new().extract(&carrier);
        let _ = span.set_parent(parent);
    }

    /// The span as a W3C trace context, when it is recorded.
    pub(super) fn traceparent(span: &Span) -> Option<String> {
        let mut carrier = HashMap::new();
        TraceContextPropagator::new().inject_context(&span.context(), &mut carrier);
        carrier.remove(NAME)
    }
}
