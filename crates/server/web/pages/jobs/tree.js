// The flow that a job belongs to: each parent over the children that it waits for, as nested lists of links.
import { fill, h } from '../../base/dom.js';
import { num } from '../../base/format.js';
import { t } from '../../base/i18n.js';
import { badge } from '../../base/parts.js';
import { idTag, jobHref, statusBadge } from './frame.js';

/** Whether a job has a tree to show. @param {any} job as it is stored */
export const hasTree = (job) => Boolean(job?.x?.flow || job?.dependsOn?.length);

/** The jobs of a tree, each parent before its children, with their depth.
 *  @param {Api.TreeNode} node @returns {{node: Api.TreeNode, depth: number}[]} */
export const lines = (node, depth = 0) => [
  { node, depth },
  ...node.children.flatMap((child) => lines(/** @type {Api.TreeNode} */ (child), depth + 1)),
];

/** @param {Api.TreeNode} node @param {string} asked @param {string | undefined} ns */
function row(node, asked, ns) {
  const name = node.type || t('jobs.job');
  const error = node.result?.error?.name;
  return h(
    'div.treerow',
    {},
    node.status === 'gone' ? badge('unknown', t('jobs.tree.gone')) : statusBadge(node.status),
    node.jobId === asked
      ? h('b', { 'aria-current': 'page' }, name)
      : h('a.linkish', { href: jobHref(node.jobId, ns) }, name),
    idTag(node.jobId),
    error && h('span.bad', {}, error),
    node.children.length > 0 && h('span.quiet', {}, t(`jobs.tree.${node.onDependencyFailed || 'fail'}`)),
  );
}

/** @param {Api.TreeNode} node @param {string} asked @param {string | undefined} ns */
function branch(node, asked, ns) {
  const children = /** @type {Api.TreeNode[]} */ (node.children);
  return h(
    'li',
    {},
    row(node, asked, ns),
    children.length > 0 &&
      h(
        'ul',
        {},
        children.map((child) => branch(child, asked, ns)),
      ),
  );
}

/** Draws a tree, again only when it has changed, so that the focus stays where it is.
 *  @param {HTMLElement} host @param {Api.TreeAnswer} found @param {string | undefined} ns */
export function drawTree(host, found, ns) {
  const { at, ...seen } = found;
  const text = JSON.stringify(seen);
  if (host.dataset.seen === text) return;
  host.dataset.seen = text;
  fill(
    host,
    h('ul.jobtree', {}, branch(found.root, found.jobId, ns)),
    found.truncated && h('p.note', {}, t('jobs.tree.more', { n: num(found.jobs) })),
  );
}
