/**
 * Names of OpenTelemetry's semantic conventions for spans. They are copied here because the messaging conventions are
 * not stable. An update of a package must not rename attributes in users' queries.
 */
/** Schema of these names. */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.37.0';

export const ATTR_ERROR_TYPE = 'error.type';
export const ATTR_HTTP_REQUEST_METHOD = 'http.request.method';
export const ATTR_HTTP_REQUEST_METHOD_ORIGINAL = 'http.request.method_original';
export const ATTR_HTTP_REQUEST_RESEND_COUNT = 'http.request.resend_count';
export const ATTR_HTTP_RESPONSE_STATUS_CODE = 'http.response.status_code';
export const ATTR_MESSAGING_DESTINATION_NAME = 'messaging.destination.name';
export const ATTR_MESSAGING_MESSAGE_CONVERSATION_ID = 'messaging.message.conversation_id';
export const ATTR_MESSAGING_MESSAGE_ID = 'messaging.message.id';
export const ATTR_MESSAGING_OPERATION_NAME = 'messaging.operation.name';
export const ATTR_MESSAGING_OPERATION_TYPE = 'messaging.operation.type';
export const ATTR_MESSAGING_SYSTEM = 'messaging.system';
export const ATTR_SERVER_ADDRESS = 'server.address';
export const ATTR_SERVER_PORT = 'server.port';
export const ATTR_SERVICE_INSTANCE_ID = 'service.instance.id';
export const ATTR_SERVICE_NAME = 'service.name';
export const ATTR_SERVICE_NAMESPACE = 'service.namespace';
export const ATTR_SERVICE_VERSION = 'service.version';
export const ATTR_URL_FULL = 'url.full';

/** Names that the conventions lack. */
export const ATTR_MSGSVC_ACCOUNT = 'messaging.msgsvc.account';
export const ATTR_MSGSVC_OUTCOME = 'messaging.msgsvc.outcome';
export const ATTR_MSGSVC_ATTEMPTS = 'messaging.msgsvc.attempts';
/** False if the start was not seen. The span then starts at the first known moment. */
export const ATTR_MSGSVC_START_KNOWN = 'messaging.msgsvc.start_known';
/** True on the root of a message that was open for too long to wait for its end. */
export const ATTR_MSGSVC_OPEN = 'messaging.msgsvc.open';
/** False if the log has one entry per message, so that waits and attempts are unknown. */
export const ATTR_MSGSVC_TRANSITIONS = 'messaging.msgsvc.transitions';
/** Milliseconds of the actual duration of a shortened span. Receivers reject spans that started too long ago. */
export const ATTR_MSGSVC_WHOLE_MS = 'messaging.msgsvc.whole_ms';
/** Milliseconds of a wait after the due time of the message. */
export const ATTR_MSGSVC_OVERDUE_MS = 'messaging.msgsvc.overdue_ms';
