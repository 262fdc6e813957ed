// A new job, or one made after another: a form that shows the command it stands for.
import { fill, h } from '../../base/dom.js';
import { t } from '../../base/i18n.js';
import { ask, toast } from '../../base/overlay.js';
import { field } from '../../base/parts.js';
import { jobHref } from './frame.js';

/** Opens the form; `like` is a stored job to start from.
 *  @param {Wk.Context} ctx */
export function newJob(ctx, ns, done, like = null) {
  const type = field({
    label: t('jobs.type'),
    hint: t('jobs.form.typehint'),
    value: like?.type || '',
    check: (v) => (v.trim() ? null : t('jobs.form.notype')),
    attrs: { required: true, autocomplete: 'off', maxlength: 200 },
  });
  const payload = h('textarea', { rows: 8, spellcheck: 'false', 'aria-label': t('jobs.payload') });
  payload.value = JSON.stringify(like?.payload ?? {}, null, 2);
  const wrong = h('span.hint');
  const priority = field({
    label: t('jobs.priority'),
    hint: t('jobs.form.priorityhint'),
    type: 'number',
    value: String(like?.priority ?? 5),
    check: (v) => (/^\d+$/.test(v) && Number(v) >= 1 && Number(v) <= 10 ? null : t('jobs.form.badpriority')),
    attrs: { min: 1, max: 10 },
  });
  const delay = field({
    label: t('jobs.form.delay'),
    hint: t('jobs.form.delayhint'),
    value: '',
    check: (v) => (v === '' || /^\d+$/.test(v) ? null : t('jobs.form.baddelay')),
    attrs: { inputmode: 'numeric' },
  });
  const once = h(
    'select',
    { id: 'job-once' },
    ['', 'debounce', 'throttle'].map((word) => h('option', { value: word }, t(`jobs.form.once.${word || 'no'}`))),
  );
  const key = field({
    label: t('jobs.form.key'),
    hint: t('jobs.form.keyhint'),
    value: '',
    check: (v) => (!once.value || v.trim() ? null : t('jobs.form.nokey')),
    attrs: { autocomplete: 'off', maxlength: 500 },
  });
  const seconds = field({
    label: t('jobs.form.keyfor'),
    value: '5',
    check: (v) => (!once.value || /^[1-9]\d*$/.test(v) ? null : t('jobs.form.baddelay')),
    attrs: { inputmode: 'numeric' },
  });
  const keyed = h('div.pair', {}, key, seconds);
  const command = h('code.cmd');
  const body = () => {
    const out = { type: type.value.trim(), payload: JSON.parse(payload.value || '{}') };
    if (priority.value !== '5') out.priority = Number(priority.value);
    if (once.value) {
      const ms = Number(seconds.value) * 1000;
      out[once.value] = { key: key.value.trim(), [once.value === 'debounce' ? 'waitMs' : 'windowMs']: ms };
    }
    // A debounce says itself when the job runs.
    if (delay.value && once.value !== 'debounce') out.schedule = { delay: Number(delay.value) * 1000 };
    for (const part of ['retry', 'target', 'metadata', 'rateLimit']) if (like?.[part]) out[part] = like[part];
    return out;
  };
  const draw = () => {
    keyed.hidden = !once.value;
    delay.hidden = once.value === 'debounce';
    let text = '…';
    try {
      text = JSON.stringify(body().payload);
      fill(wrong);
    } catch (e) {
      fill(wrong, t('jobs.form.badjson', { why: e.message }));
    }
    const flags = [
      priority.value !== '5' && `--priority ${priority.value}`,
      delay.value && once.value !== 'debounce' && `--delay ${delay.value}s`,
      once.value && `--${once.value} ${key.value.trim() || 'KEY'}:${seconds.value}s`,
    ].filter(Boolean);
    fill(command, ['worldkeep jobs dispatch', type.value || 'TYPE', `'${text}'`, ...flags].join(' '));
  };
  for (const el of [type, payload, priority, delay, once, key, seconds]) el.addEventListener('input', draw);
  draw();
  return ask({
    title: t(like ? 'jobs.form.copy' : 'jobs.new'),
    content: h(
      'div.form',
      {},
      type,
      h('div.field', {}, h('label', {}, t('jobs.payload')), payload, wrong),
      h('div.pair', {}, priority, delay),
      h('div.field', {}, h('label', { for: 'job-once' }, t('jobs.form.once')), once),
      keyed,
      command,
    ),
    verb: t('jobs.form.send'),
    danger: false,
    run: async () => {
      if (![type, priority, delay, key, seconds].map((x) => x.valid()).every(Boolean))
        throw new Error(t('jobs.form.look'));
      const job = await ctx.api.post('/api/jobs', body(), { query: { ns } });
      const id = job.jobId ?? job.job?.jobId;
      toast(t('jobs.form.sent'), { action: t('jobs.see'), run: () => ctx.router.go(jobHref(id, ns)) });
      done?.(job);
    },
  });
}
