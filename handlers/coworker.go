package handlers

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/coworker"
)

// apiRoot is where the coworker's REST lies.
const apiRoot = "/api/v1"

const organizationPath = apiRoot + "/organizations/:org"

// coworkerRoutes lists the coworker's REST. Without a coworker its paths are
// unknown.
func (s *Server) coworkerRoutes() {
	if s.coworker == nil {
		return
	}
	s.app.Get(infoPath, s.mcpInfo)
	s.app.Get(organizationPath, s.keyed(s.organization))
	s.app.Delete(organizationPath, s.keyed(s.deleteOrganization))
	s.app.Get(organizationPath+"/export", s.keyed(s.exportOrganization))
	s.app.Get(organizationPath+"/users", s.keyed(s.listUsers))
	s.app.Post(organizationPath+"/users", s.keyed(s.addUser))
	s.app.Delete(organizationPath+"/users/:user", s.keyed(s.removeUser))
	s.app.Get(organizationPath+"/api-keys", s.keyed(s.listAPIKeys))
	s.app.Post(organizationPath+"/api-keys", s.keyed(s.createAPIKey))
	s.app.Get(organizationPath+"/api-keys/:key", s.keyed(s.readAPIKey))
	s.app.Patch(organizationPath+"/api-keys/:key", s.keyed(s.updateAPIKey))
	s.app.Delete(organizationPath+"/api-keys/:key", s.keyed(s.revokeAPIKey))
	s.app.Get(auditPath, s.keyed(s.listAudit))
	s.app.Get(auditPath+"/days", s.keyed(s.auditDays))
	s.memoryRoutes()
	s.connectionRoutes()
}

// coworkerStatuses gives every code of the contract its HTTP status.
var coworkerStatuses = map[coworker.Code]int{
	coworker.Unauthenticated:      fiber.StatusUnauthorized,
	coworker.UnknownService:       fiber.StatusNotFound,
	coworker.InvalidArg:           fiber.StatusBadRequest,
	coworker.NotFound:             fiber.StatusNotFound,
	coworker.UpstreamError:        fiber.StatusBadGateway,
	coworker.PermissionDenied:     fiber.StatusForbidden,
	coworker.NotConnected:         fiber.StatusConflict,
	coworker.ConfirmationRequired: fiber.StatusConflict,
	coworker.RateLimited:          fiber.StatusTooManyRequests,
	coworker.ResponseTooLarge:     fiber.StatusUnprocessableEntity,
	coworker.SandboxUnavailable:   fiber.StatusServiceUnavailable,
	coworker.SandboxTimeout:       fiber.StatusGatewayTimeout,
	coworker.SandboxLimit:         fiber.StatusUnprocessableEntity,
	coworker.Internal:             fiber.StatusServiceUnavailable,
}

// restCode is a code as REST spells it.
func restCode(code coworker.Code) string {
	if code == coworker.PermissionDenied {
		return "AUTH_PERMISSION_DENIED"
	}
	return string(code)
}

// judgeFault is the refusal of a fault of the contract.
func judgeFault(f *coworker.Fault) refusal {
	status, ok := coworkerStatuses[f.Code]
	if !ok {
		status = fiber.StatusServiceUnavailable
	}
	return refusal{status: status, hint: f.Hint, wait: f.RetryAfter, contract: f}
}

// contractOf is what the contract says of a refusal that came before the
// coworker was asked: an unknown path, a wrong media type, a bad query.
func contractOf(r refusal, requestID string) coworker.Contract {
	f := r.contract
	if f == nil {
		f = &coworker.Fault{Code: coworker.InvalidArg, Message: "The request does not have the required shape.", Hint: r.hint}
		switch {
		case r.status >= fiber.StatusInternalServerError:
			f.Code, f.Message, f.Hint = coworker.Internal, "", ""
		case r.status == fiber.StatusNotFound:
			f.Code, f.Message = coworker.NotFound, ""
		case r.status == fiber.StatusForbidden:
			f.Code, f.Message = coworker.PermissionDenied, "This host or origin may not call here."
		case r.status == fiber.StatusTooManyRequests:
			f = coworker.Paced(r.wait, 0, "readings by one network")
		case len(r.violations) > 0:
			var problems []coworker.Problem
			for _, v := range r.violations {
				problems = append(problems, coworker.Problem{Field: v.Field, Problem: v.Message})
			}
			f = coworker.InvalidArguments(problems...)
		}
	}
	said := f.Contract()
	said.Code = restCode(f.Code)
	if f.Code == coworker.Internal && said.Details == nil {
		said.Details = map[string]string{"request_id": requestID}
	}
	return said
}

// refuseKeyed writes the contract, on every path that speaks it.
func refuseKeyed(ctx *fasthttp.RequestCtx, r refusal) {
	if r.contract != nil && r.contract.Code == coworker.Unauthenticated {
		// RFC 6750 3: no error where no key was shown. There is no metadata to
		// point to, since no authorization server exists.
		challenge := `Bearer realm="innerloop"`
		if why, ok := r.contract.Details.(coworker.Refused); !ok || why.Reason != coworker.ReasonMissing {
			challenge += `, error="invalid_token"`
		}
		ctx.Response.Header.Set(fiber.HeaderWWWAuthenticate, challenge)
	}
	writeJSON(ctx, contractOf(r, requestID(ctx)))
}
