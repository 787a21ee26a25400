package connect

// Fit is tested alone, since each service has a shape of its own.
var Fit = fit
