/** Reason why an operation was not performed, or what is unknown about it. */
export class OperationError extends Error {
  override readonly name = 'OperationError';
  readonly code: 'bad_request' | 'unconfirmed' | 'budget' | 'refused' | 'store_unavailable' | 'service_error';

  constructor(code: OperationError['code'], message: string) {
    super(message);
    this.code = code;
  }
}
