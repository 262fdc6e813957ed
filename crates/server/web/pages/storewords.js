// What is said of a store beside its name: how it keeps the data, what happens when it is full. Words are in `lang/health`.
import { t } from '../base/i18n.js';
import { said } from '../base/said.js';

/** What becomes of keys when the memory is full.
 *  @param {Api.StoreStatus} store */
export const whenFull = ({ eviction }) =>
  !eviction ? '–' : t(eviction === 'noeviction' ? 'store.full.refuses' : 'store.full.drops', { policy: eviction });

/** @param {Api.StoreStatus} store */
export const keptBy = (store) => said({ sentence: store.persistence, said: store.kept });
