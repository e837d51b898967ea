/** Times and numbers for the pages. */
export { counted, formatCount, formatUsd } from '#foundation/domain/counted.ts';
export { formatAge, formatSpan, formatTime, machineTime } from '#foundation/domain/time-text.ts';
