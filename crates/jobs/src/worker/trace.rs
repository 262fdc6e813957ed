//! Traces: each attempt runs in a span, and with the feature `otel` the span continues the trace of whoever
//! dispatched the job, by its `x.traceparent`.

use tracing::Span;

use crate::model::{Job, NewJob, WorkerFacts};

/// The span of one attempt.
pub(crate) fn span(facts: &WorkerFacts, job: &Job) -> Span {
    let span = tracing::info_span!(
        target: "worldkeep_jobs::attempt",
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

/// Jobs that are dispatched inside a recorded span belong to its trace, unless they name another.
pub(crate) fn mark(jobs: &mut [NewJob]) {
    #[cfg(feature = "otel")]
    if let Some(current) = otel::traceparent(&Span::current()) {
        for job in jobs.iter_mut().filter(|job| job.x.traceparent.is_none()) {
            job.x.traceparent = Some(current.clone());
        }
    }
    #[cfg(not(feature = "otel"))]
    let _ = jobs;
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

#[cfg(all(test, feature = "otel"))]
mod tests {
    use opentelemetry::trace::TracerProvider as _;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn an_attempt_continues_the_trace_of_its_dispatch() {
        let provider = opentelemetry_sdk::trace::SdkTracerProvider::builder().build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let producer = tracing::info_span!("producer").entered();
            let mut jobs = [NewJob::raw("email", "{}")];
            mark(&mut jobs);
            drop(producer);
            let parent = jobs[0].x.traceparent.clone().expect("a recorded span has a context");
            let text = format!(r#"{{"type":"email","x":{{"traceparent":"{parent}"}}}}"#);
            let job = Job::read("j", text).expect("a job");
            let span = span(&WorkerFacts::new("w").expect("an id"), &job);
            let own = otel::traceparent(&span).expect("a recorded span has a context");
            assert_eq!(own[..35], parent[..35], "the same trace");
            assert_ne!(own, parent, "a span of its own");
        });
    }
}
